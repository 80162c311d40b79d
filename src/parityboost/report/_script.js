(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const root = document.documentElement;
  const charts = [...document.querySelectorAll("[data-chart]")];
  const printed = window.matchMedia("print");
  const PRINTED_WIDTH = 660; // pixels; A4 has 680 between its margins

  /* Theme: the reader's last choice, if this browser keeps it, else what the system prefers. */
  const store = {
    get() { try { return window.localStorage.getItem("parityboost-theme"); } catch { return null; } },
    set(value) { try { window.localStorage.setItem("parityboost-theme", value); } catch { /* this visit only */ } },
  };
  const preferred = window.matchMedia("(prefers-color-scheme: dark)");
  let theme = store.get() ?? (preferred.matches ? "dark" : "light");

  /* Charts name colours of the page, such as var(--ink). */
  const colours = (value, style) => {
    if (typeof value === "string") {
      const name = /^var\((--[a-z0-9-]+)\)$/.exec(value);
      return name ? style.getPropertyValue(name[1]).trim() : value;
    }
    if (Array.isArray(value)) return value.map((item) => colours(item, style));
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, colours(item, style)]));
    }
    return value;
  };
  const SIGNS = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&amp;": "&" };
  const cut = (name, most) => {
    const text = [...name.replace(/&(lt|gt|quot|#x27|amp);/g, (sign) => SIGNS[sign])];
    if (text.length <= most) return name;
    const short = [...text.slice(0, Math.ceil((most - 1) / 2)), "…", ...text.slice(-Math.floor((most - 1) / 2))].join("");
    return short.replace(/[<>&]/g, (sign) => ({ "<": "&lt;", ">": "&gt;", "&": "&amp;" })[sign]);
  };
  const draw = (chart, width) => {
    const spec = colours(data.charts[chart.dataset.chart], getComputedStyle(root));
    const layout = { ...spec.layout, autosize: !width };
    if (width) {
      const height = printedHeight(chart, layout.height);
      chart.style.minHeight = `${height}px`;
      Object.assign(layout, { width, height, font: { ...layout.font, size: 10 } });
    } else {
      chart.style.minHeight = `${layout.height}px`;
    }
    /* Names take at most two fifths of the width, and lose their middle if that is too little for them. */
    const room = width ?? chart.clientWidth, letter = width ? 5.8 : 7.4;
    const longest = (texts) => Math.max(0, ...texts.map((text) => text.length));
    const short = (axis, most, line) => {
      if (axis.ticktext) axis.ticktext = axis.ticktext.map((name) => cut(name, Math.max(12, Math.floor(most))));
      if (axis.title) axis.title.text = cut(axis.title.text, Math.max(12, Math.floor(line)));
    };
    short(layout.yaxis, (0.4 * room) / letter, 40);
    const inner = room - 80 - letter * longest(layout.yaxis.ticktext ?? []);
    short(layout.xaxis, Math.max(18, inner / letter / (layout.xaxis.ticktext?.length ?? 1)), inner / letter + 6);
    /* A cell that is too narrow shows its colour only: its numbers are in the table. */
    const cells = spec.data.filter((trace) => trace.z);
    const cell = inner / (cells[0]?.z[0].length ?? 1);
    const lines = cells.flatMap((trace) => trace.text.flat().flatMap((text) => text.split("<br>")));
    const drawn = 0.9 * letter * longest(lines) < cell ? spec.data
      : spec.data.map((trace) => (trace.z ? { ...trace, texttemplate: "" } : trace));
    if (cells.length && letter * longest(layout.xaxis.ticktext) > cell) layout.xaxis.tickangle = cell < 24 ? -90 : -35;
    Plotly.react(chart, drawn, layout, { displayModeBar: false, responsive: !width, showTips: false });
  };
  /* Small enough that the rest of a page is never much. */
  const printedHeight = (chart, height) => Math.min(0.8 * height, chart.closest(".grid") ? 260 : Math.max(400, 0.5 * height));
  const widthOf = (chart) => (chart.closest(".grid") ? PRINTED_WIDTH / 2 - 12 : PRINTED_WIDTH);
  const apply = (shown, forPrint) => {
    root.dataset.theme = shown;
    charts.forEach((chart) => draw(chart, forPrint ? widthOf(chart) : undefined));
  };
  const button = document.getElementById("theme");
  const label = () => { button.textContent = theme === "dark" ? "Light theme" : "Dark theme"; };
  const choose = (name) => { theme = name; label(); apply(theme, false); };
  button.hidden = false;
  button.addEventListener("click", () => { choose(theme === "dark" ? "light" : "dark"); store.set(theme); });
  preferred.addEventListener("change", (event) => { if (store.get() === null) choose(event.matches ? "dark" : "light"); });

  /* Paper is white, has a fixed width, and nothing on it can be opened: tables of charts go to an appendix. */
  const appendix = document.getElementById("appendix");
  let moved = null;
  const print = (on) => {
    if (on === (moved !== null)) return;
    if (on) {
      moved = [...document.querySelectorAll("details.data")].map((details) => ({
        details, parent: details.parentNode, open: details.open,
      }));
      moved.forEach(({ details }) => { appendix.append(details); details.open = true; });
    } else {
      moved.forEach(({ details, parent, open }) => { parent.append(details); details.open = open; });
      moved = null;
    }
    appendix.hidden = !on;
    if (on) parts.forEach((part) => fold(part, false));
    else foldAll();
    apply(on ? "light" : theme, on);
  };
  window.addEventListener("resize", () => { if (moved === null) charts.forEach((chart) => draw(chart)); });
  printed.addEventListener("change", (event) => print(event.matches));
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));

  /* On a phone a part of the report opens when its heading is touched: else it is thirty screens long. */
  const parts = [...document.querySelectorAll("main > section:not(#summary)")].filter((part) => part.querySelector("h2"));
  const phone = window.matchMedia("(max-width: 40rem)");
  const fold = (part, closed) => {
    part.classList.toggle("closed", closed);
    part.querySelector("h2 > button")?.setAttribute("aria-expanded", String(!closed));
    if (!closed && moved === null) part.querySelectorAll("[data-chart]").forEach((chart) => draw(chart));
  };
  const reach = () => {
    const part = location.hash.startsWith("#") && document.getElementById(location.hash.slice(1))?.closest("section");
    if (parts.includes(part)) { fold(part, false); part.scrollIntoView(); }
  };
  const foldAll = () => parts.forEach((part) => {
    const heading = part.querySelector("h2"), opener = heading.querySelector("button");
    if (!phone.matches && !opener) return;
    if (!opener) {
      const made = document.createElement("button");
      made.type = "button";
      made.append(...heading.childNodes);
      made.addEventListener("click", () => fold(part, !part.classList.contains("closed")));
      heading.append(made);
    } else if (!phone.matches) opener.replaceWith(...opener.childNodes);
    fold(part, phone.matches);
  });
  phone.addEventListener("change", () => { if (moved === null) foldAll(); });
  window.addEventListener("hashchange", reach);

  label();
  apply(theme, false);
  foldAll();
  reach();
  if (printed.matches) print(true);

  /* The slider: every rate after any number of rounds follows from the counts of that round. */
  const slider = document.getElementById("theta");
  if (!slider) return;
  const { rounds } = data;
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const ratio = (part, whole) => (whole > 0 ? part / whole : NaN);
  const spread = (values) => {
    const known = values.filter((value) => !Number.isNaN(value));
    return known.length ? Math.max(...known) - Math.min(...known) : NaN;
  };
  const measure = (at) => {
    const groups = rounds.groups.map((_, g) => {
      const positives = rounds.positives[g], negatives = rounds.negatives[g];
      const found = rounds.true_positives[at][g], alarms = rounds.false_positives[at][g];
      return {
        tpr: ratio(found, positives),
        fpr: ratio(alarms, negatives),
        selection_rate: ratio(found + alarms, positives + negatives),
        accuracy: ratio(found + negatives - alarms, positives + negatives),
      };
    });
    const positives = sum(rounds.positives), negatives = sum(rounds.negatives);
    const found = sum(rounds.true_positives[at]), alarms = sum(rounds.false_positives[at]);
    const rates = [ratio(found, positives), ratio(negatives - alarms, negatives)].filter((rate) => !Number.isNaN(rate));
    const apart = spread(groups.map((group) => group.tpr));
    const wrong = spread(groups.map((group) => group.fpr));
    return {
      groups,
      accuracy: ratio(found + negatives - alarms, positives + negatives),
      balanced_accuracy: sum(rates) / rates.length,
      statistical_parity: spread(groups.map((group) => group.selection_rate)),
      equal_opportunity: apart,
      predictive_equality: wrong,
      disparate_mistreatment: apart + wrong,
    };
  };
  const points = (share) => (Number.isNaN(share) ? "–" : (100 * share).toFixed(1));
  const percent = (share) => (Number.isNaN(share) ? "–" : `${(100 * share).toFixed(1)} %`);
  const show = (name, text) => { document.querySelector(`[data-cell="${name}"]`).textContent = text; };
  const history = document.querySelector('[data-chart="history"]');
  const now = document.getElementById("theta-now");
  const update = () => {
    const at = Number(slider.value) - 1, theta = rounds.rounds[at], found = measure(at);
    const place = rounds.symbol !== "θ" ? `fairness ${theta}` : theta === 1 ? "1 rule" : `${theta} rules`;
    slider.setAttribute("aria-valuetext", place);
    now.textContent = place;
    document.querySelectorAll("[data-theta]").forEach((element) => { element.textContent = place; });
    for (const [name, value] of Object.entries(found)) {
      if (name !== "groups") show(name, name.endsWith("accuracy") ? percent(value) : points(value));
    }
    found.groups.forEach((group, g) => {
      for (const [name, value] of Object.entries(group)) show(`${name}-${g}`, percent(value));
    });
    const spec = data.charts.history, marker = spec.data.at(-1), line = spec.layout.shapes.at(-1);
    marker.x = [theta, theta];
    marker.y = [rounds.ber[at], rounds.violation[at]];
    line.x0 = line.x1 = theta;
    line.visible = theta !== rounds.theta; /* there it would cover the dashed line */
    draw(history, moved === null ? undefined : widthOf(history));
  };
  document.querySelector(".slider").hidden = false;
  slider.addEventListener("input", update);
  document.getElementById("theta-back").addEventListener("click", () => {
    slider.value = String(rounds.rounds.indexOf(rounds.theta) + 1);
    update();
  });
  update();
})();
