"""The lab's errors, each with the exit status of `rcp-lab`."""

# timeout(1) and git-bisect(1) use 124 and 125 the same way: out of time, and no verdict.
EXIT_USER = 2
EXIT_TIMEOUT = 124
EXIT_LOST = 125


class LabError(Exception):
    """An error the user can act on; its text names the object, the fault and the remedy."""

    exit_status = EXIT_USER


class MissingToolError(LabError):
    """A program that the lab needs is not installed on this host."""

    def __init__(self, program: str, package: str) -> None:
        """Name the *program* and the Debian *package* that contains it."""
        super().__init__(
            f"{program} is not installed: install package {package} (apt-get install {package})"
        )


class UnknownScenarioError(LabError):
    """No scenario has this name."""


class ScenarioError(LabError):
    """A scenario folder is incomplete or its scenario.toml is wrong."""


class CheckoutError(LabError):
    """The source tree of rcp was not found or cannot be built into a wheel."""


class RootfsError(LabError):
    """The guest's root disk could not be built."""


class SeriesError(LabError):
    """A patch, or the file BASE that names the source they apply to, is wrong."""


class KernelError(LabError):
    """A kernel or a module could not be built."""


class OutputDirError(LabError):
    """The folder for a run's results cannot be used."""


class RunTimeoutError(LabError):
    """The run reached its wall-clock limit and was ended."""

    exit_status = EXIT_TIMEOUT


class LostVMError(LabError):
    """The guest died without a result, so there is no exit status."""

    exit_status = EXIT_LOST


class OutputFullError(LostVMError):
    """The guest finished, but its artefacts did not fit on the output disk."""
