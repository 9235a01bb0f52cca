"""What ranks, two of them where nothing else is said, are asked about tensors of a device: of cuda, or of the made-up one (made_up.py)."""

CALLS = ["all_reduces", "moves", "coalesced", "strided", "order", "order_of_streams", "overlap", "memory", "mixed", "groups", "barriers", "futures"]
MESSAGES = ["messages", "batches", "ring", "pairs"]
TRAINING = ["ddp", "averages", "hook", "fsdp"]
FAULTS = ["refusals", "mismatch", "lateness", "death", "aborted", "aborted_pair", "left"]
CHECKS = CALLS + MESSAGES + TRAINING + FAULTS
