"""A report on a model, or on an audit, as one HTML file that needs no program and no network to read.

:func:`build` makes one plain dict of everything the report says, :func:`to_html`, :func:`to_markdown` (a model card)
and :func:`to_json` write it down, :func:`write_report` does both in one call. Only the HTML needs the extra ``report``
(plotly and jinja2).
"""

from ._card import to_markdown
from ._render import to_html, to_json, write_report
from ._summary import build, build_audit

__all__ = ["build", "build_audit", "to_html", "to_json", "to_markdown", "write_report"]
