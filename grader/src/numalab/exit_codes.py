"""What the commands end with. Jobs of a batch end so, too, without the command line's imports."""

EXIT_PASSED, EXIT_FAILED, EXIT_MISUSE, EXIT_NUMALAB, EXIT_INTERRUPTED = 0, 1, 2, 3, 130
EXIT_SKIPPED = 77  # CTest's "not run" for a criterion that is not gradable
