"""Tuning: the trials of a study of rcp-tune, and what each knob contributed."""

from pathlib import Path

from rcp.analyzer.db.store import StoreError
from rcp.probes.contract.percent import percent
from rcp.ui import places, studies, web
from rcp.ui.charts import tuning as charts
from rcp.ui.frame import show_study
from rcp.ui.info import tuning
from rcp.ui.info.tuning import Effect, StudyView, Trial
from rcp.ui.rows import ROWS_MAX

_OUTCOMES = {
    "met": "The SLOs hold, and fresh runs confirmed it.",
    "met already": "The SLOs hold without any change: there is nothing to tune.",
    "not confirmed": "A trial met the SLOs, but fresh runs did not confirm it: this is no result.",
    "not reached": "No trial met the SLOs.",
    "not judged": "Its trials have too few requests to judge the SLOs: tune again, with more in "
    "each trial.",
    "unfinished": "This study is unfinished: `rcp-tune run --resume` continues it.",
}

_TRIALS = {
    "trial": web.Column("trial", format="%d", width=50),
    "phase": web.Column("phase", width=75),
    "figures": web.Column("measured", width=230),
    "gain": web.Column("objective", "relative to the baseline", "%.1f %%", width=75),
    "front": web.Column("Pareto", "on the Pareto front of latency and objective", width=50),
    "set": web.Column("set", width=330),
    "why": web.Column("proposed because", width=260),
}

_EFFECTS = {
    "knob": web.Column("knob", width=145),
    "change": web.Column("set", "value before and in the winner", width=130),
    "latency": web.Column(
        "latency ×", "without the knob, relative to the winner", "%.2f", width=75
    ),
    "objective": web.Column(
        "objective ×", "without the knob, relative to the winner", "%.2f", width=88
    ),
}

_SETTING_COLUMNS = {
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


def _verdict(found: StudyView) -> None:
    text = _OUTCOMES.get(found.outcome, found.outcome)
    if found.has_changed:
        text = "The SLOs hold now without any knob, not at the start: the machine has changed."
    if found.outcome in tuning.CONFIRMED:
        web.say(text)
    else:
        web.warn(text)
    web.caption(found.head)
    if found.is_virtual:
        web.caption("Measured in the lab: virtual time, simulated disk; not hardware.")


def _pictures(found: StudyView) -> None:
    slos = [bound.text for bound in found.bounds]
    chosen = web.choose("SLO", slos, "bound") if len(slos) > 1 else slos[0]
    bound = next(bound for bound in found.bounds if bound.text == chosen)
    left, right = web.columns(1, 1)
    with left:
        web.heading("Trials over time", "below the line the SLO holds; × marks failed trials")
        web.chart(charts.trials(found, bound, web.is_dark()), "trials")
    with right:
        web.heading(
            f"Pareto front of latency and {found.objective}",
            "the line joins the trials on the front, labelled by trial number",
        )
        web.chart(charts.pareto(found, bound, web.is_dark()), "pareto")


def _effect_row(effect: Effect) -> dict[str, object]:
    return {
        "knob": effect.knob,
        "change": f"{effect.default} → {effect.won}",
        "latency": effect.latency,
        "objective": None if effect.objective is None else 1 / effect.objective,
    }


def _effects(found: StudyView) -> None:
    web.heading("Contribution of each knob", "ablation: the winner with one knob at a time reset")
    if not found.effects:
        web.say("The ablation runs only after the SLOs hold: they do not yet, or never did.")
        return
    if found.together:
        web.say(found.together)
    if found.left_out:
        web.say(f"Left out of the winner, without effect: {', '.join(found.left_out)}")
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
        "gain": None if trial.gain is None else trial.gain * 100,
        "front": "yes" if trial.is_on_front else "",
        "set": trial.settings_text,
        "why": trial.why,
    }


def _causes(found: StudyView, of: Trial) -> None:
    causes = [cause for cause in found.causes if cause.trial_id == of.trial_id]
    if causes:
        web.say("Causes in the slowest 1 % of its requests:")
    for cause in causes:
        web.say(f"{percent(cause.share)}: {cause.kind} by {cause.culprit}")
        web.caption(cause.chain)
    if of.recording:
        web.caption(f"recording: {of.recording}")


def _one(found: StudyView, of: Trial) -> None:
    web.heading(f"Trial {of.trial_id}")
    figures = f"failed: {of.failed}" if of.failed else of.figures
    relative = "" if of.gain is None else f" ({percent(of.gain)} of the baseline)"
    web.say(f"{of.phase}; {of.why}; {figures}{relative}; took {of.wall_s:.0f} s on the host")
    if of.settings:
        web.table([one._asdict() for one in of.settings], _SETTING_COLUMNS, f"set-{of.trial_id}")
    else:
        web.say("It changed no knob.")
    _causes(found, of)


def _trials(found: StudyView) -> None:
    web.heading("Trials", "select one to see all its settings")
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
    web.set_param("trial", None if chosen is None else numbers[chosen])
    if chosen is not None:
        _one(found, found.trials[chosen])


def _journal(found: StudyView) -> None:
    with web.folded(f"Journal: {len(found.writes):,} knob writes in order"):
        shown = found.writes[-ROWS_MAX:]
        if len(shown) < len(found.writes):
            web.caption(f"the last {len(shown):,} of {len(found.writes):,}")
        web.table([write._asdict() for write in shown], _WRITES, "writes")
    with web.folded("As text"):
        web.code(found.text)


def _best(found: StudyView) -> None:
    if found.usual is not None:
        web.say(f"Baseline: {found.usual.figures}")
    if found.outcome == "met" and found.fresh:
        runs = " and ".join(trial.figures for trial in found.fresh)
        web.say(f"With {found.fresh[0].settings_text}, in fresh runs: {runs}")


def screen(path: Path) -> None:
    """Show the screen."""
    web.title(path.name)
    try:
        found = studies.read(path)
    except StoreError as error:
        web.fail(str(error))
        web.empty("Choose another study on the left.")
        return
    _verdict(found)
    if not found.trials:
        web.empty("No finished trials yet.", "Reload the page later.")
        return
    _best(found)
    _pictures(found)
    _effects(found)
    _trials(found)
    _journal(found)


if __name__ == "__main__":
    show_study(screen)
