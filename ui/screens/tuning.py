"""Tuning: what a study of rcp-tune tried, what that cost, and what each knob is worth."""

from pathlib import Path

from rcp.analyzer.db.store import StoreError
from rcp.analyzer.text import percent
from rcp.ui import places, studies, web
from rcp.ui.charts import tuning as charts
from rcp.ui.frame import show_study
from rcp.ui.info import tuning
from rcp.ui.info.tuning import Effect, Told, Trial
from rcp.ui.rows import ROWS_MAX

_OUTCOMES = {
    "met": "The SLOs hold, and fresh runs confirmed it.",
    "met already": "The SLOs hold as the machine is: there is nothing to tune.",
    "not confirmed": "A trial met the SLOs, but no fresh run confirmed it: this is not a result.",
    "not reached": "No trial met the SLOs.",
    "unfinished": "This study is unfinished: `rcp-tune run --resume` goes on with it.",
}

_TRIALS = {
    "trial": web.Column("trial", format="%d", width=50),
    "phase": web.Column("phase", width=75),
    "figures": web.Column("measured", width=230),
    "gain": web.Column("objective", "part of what it was as the machine is", "percent", width=75),
    "front": web.Column("front", "no other trial beats it in both latency and objective", width=45),
    "set": web.Column("set", width=330),
    "why": web.Column("proposed because", width=260),
}

_EFFECTS = {
    "knob": web.Column("knob", width=145),
    "change": web.Column("set", "before and in the winner", width=130),
    "latency": web.Column("latency ×", "times the winner's, without the knob", "%.2f", width=75),
    "objective": web.Column("objective ×", "times the winner's, without it", "%.2f", width=88),
}

_SETTINGS = {
    "knob": web.Column("knob", width=190),
    "was": web.Column("before", width=90),
    "value": web.Column("set to", width=120),
    "what": web.Column("what it does", width=420),
}

_WRITES = {
    "trial_id": web.Column("trial", format="%d"),
    "position": web.Column("position", format="%d"),
    "target": web.Column("knob", width=260),
    "value": web.Column("value", width=260),
}


def _verdict(found: Told) -> None:
    text = _OUTCOMES.get(found.outcome, found.outcome)
    if found.outcome in tuning.CONFIRMED:
        web.say(text)
    else:
        web.warn(text)
    web.caption(found.head)
    if found.is_virtual:
        web.caption("Measured in the lab: virtual time and a simulated disk, not hardware.")


def _pictures(found: Told) -> None:
    slos = [bound.text for bound in found.bounds]
    chosen = web.choose("SLO", slos, "bound") if len(slos) > 1 else slos[0]
    bound = next(bound for bound in found.bounds if bound.text == chosen)
    left, right = web.columns(1, 1)
    with left:
        web.heading("Trials over time", "below the line the SLO holds; × made no figures")
        web.chart(charts.trials(found, bound, web.is_dark()), "trials")
    with right:
        web.heading(
            f"Latency and {found.objective}",
            "the line joins the trials that no other beats in both, by their numbers",
        )
        web.chart(charts.pareto(found, bound, web.is_dark()), "pareto")


def _effect_row(effect: Effect) -> dict[str, object]:
    return {
        "knob": effect.knob,
        "change": f"{effect.default} → {effect.won}",
        "latency": effect.latency,
        "objective": None if effect.objective is None else 1 / effect.objective,
    }


def _effects(found: Told) -> None:
    web.heading("What each knob bought", "what the search found, with one knob at a time put back")
    if not found.effects:
        web.say("This is measured once the SLOs hold; here they did not, or it has not ended.")
        return
    if found.together:
        web.say(found.together)
    if found.left_out:
        web.say(f"Left out of the winner, for they bought nothing: {', '.join(found.left_out)}")
    left, right = web.columns(1, 1)
    with left:
        web.chart(charts.effects(found.effects, web.is_dark()), "effects")
    with right:
        web.table([_effect_row(effect) for effect in found.effects], _EFFECTS, "effect-rows")


def _trial_row(trial: Trial) -> dict[str, object]:
    return {
        "trial": trial.trial_id,
        "phase": trial.phase,
        "figures": f"failed: {trial.failed}" if trial.failed else trial.figures,
        "gain": trial.gain,
        "front": "yes" if trial.is_on_front else "",
        "set": trial.set_shortly,
        "why": trial.why,
    }


def _causes(found: Told, of: Trial) -> None:
    causes = [cause for cause in found.causes if cause.trial_id == of.trial_id]
    if causes:
        web.say("What made the slowest 1 % of its requests slow:")
    for cause in causes:
        web.say(f"{percent(cause.share)}: {cause.kind} by {cause.culprit}")
        web.caption(cause.chain)
    if of.recording:
        web.caption(f"its recording: {of.recording}")


def _one(found: Told, of: Trial) -> None:
    web.heading(f"Trial {of.trial_id}")
    told = f"failed: {of.failed}" if of.failed else of.figures
    usual = "" if of.gain is None else f" ({percent(of.gain)} of what it was)"
    web.say(f"{of.phase}; {of.why}; {told}{usual}; took {of.wall_s:.0f} s of the host's time")
    if of.settings:
        web.table([one._asdict() for one in of.settings], _SETTINGS, f"set-{of.trial_id}")
    else:
        web.say("It changed nothing: the machine as it was.")
    _causes(found, of)


def _trials(found: Told) -> None:
    web.heading("Trials", "select one to see all it set")
    asked = places.number(web.params(), "trial")
    numbers = [trial.trial_id for trial in found.trials]
    chosen = web.table(
        [_trial_row(trial) for trial in found.trials],
        _TRIALS,
        "trial-rows",
        selecting=True,
        selected=numbers.index(asked) if asked in numbers else None,
        height=300,
    )
    web.put("trial", None if chosen is None else numbers[chosen])
    if chosen is not None:
        _one(found, found.trials[chosen])


def _journal(found: Told) -> None:
    with web.folded(f"Journal of writes: {len(found.writes):,} settings of knobs, in order"):
        shown = found.writes[-ROWS_MAX:]
        if len(shown) < len(found.writes):
            web.caption(f"the last {len(shown):,} of {len(found.writes):,}")
        web.table([write._asdict() for write in shown], _WRITES, "writes")
    with web.folded("As text"):
        web.code(found.text)


def _best(found: Told) -> None:
    if found.usual is not None:
        web.say(f"As the machine is: {found.usual.figures}")
    if found.outcome == "met" and found.fresh:
        runs = " and ".join(trial.figures for trial in found.fresh)
        web.say(f"With {found.fresh[0].set_shortly}, in fresh runs: {runs}")


def screen(path: Path) -> None:
    """Put the screen."""
    web.title(path.name)
    try:
        found = studies.read(path)
    except StoreError as error:
        web.fail(str(error))
        web.empty("Choose another study at the left.")
        return
    _verdict(found)
    if not found.trials:
        web.empty("No trial has ended yet.", "Reload the page when one has.")
        return
    _best(found)
    _pictures(found)
    _effects(found)
    _trials(found)
    _journal(found)


if __name__ == "__main__":
    show_study(screen)
