"""What can go wrong that is not a student's result."""


class UserError(Exception):
    """The command was asked for something impossible; exit code 2.

    The message says what happened, where, and what to do next.
    """


class KitError(Exception):
    """The kit itself could not do its part; exit code 3."""


class Interrupted(Exception):
    """Ctrl-C or a request to stop; what was found so far is kept."""


def reason_of(error: OSError) -> str:
    """What the system says of it, and the file where it names one."""
    place = f" ({error.filename})" if error.filename else ""
    return f"{error.strerror or error}{place}"
