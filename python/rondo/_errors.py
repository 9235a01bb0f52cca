"""What calls raise. Arguments without sense are ValueError and TypeError, as everywhere in Python."""


class Error(RuntimeError):
    """A communicator's call failed; the communicator is broken from here on, unless it says otherwise."""


class MismatchError(Error):
    """Ranks disagree about the call that they are in; the text says who called what."""


class PeerFailedError(Error):
    """Another rank died, left or failed; the text names it."""


class AbortedError(Error):
    """abort() was called, here or on another rank."""


class DeadlineError(Error, TimeoutError):
    """A wait outlasted its deadline; the text names the slowest rank. Work.wait(timeout) leaves its call running."""


class InvalidPlanError(Error, ValueError):
    """A plan is malformed or was proved wrong; the communicator stays usable."""


class UnsupportedError(Error, NotImplementedError):
    """The call makes sense but can't be served here; the text says why. The communicator stays usable."""


class ResourceError(Error, MemoryError):
    """Memory, descriptors or another limit; the text names the limit and the need."""


class CorruptedError(Error):
    """Data changed on their way between ranks, as a communicator with integrity finds; the text says whose, and where. The communicator is broken."""


KINDS = {
    "invalid_argument": ValueError,
    "unsupported": UnsupportedError,
    "invalid_plan": InvalidPlanError,
    "mismatch": MismatchError,
    "peer_failed": PeerFailedError,
    "deadline_exceeded": DeadlineError,
    "aborted": AbortedError,
    "out_of_resources": ResourceError,
    "io": OSError,
    "corrupted": CorruptedError,
}
