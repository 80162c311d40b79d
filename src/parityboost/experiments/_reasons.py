"""Why a claim differs."""


def reason(where, says, verdicts):
    return ""
