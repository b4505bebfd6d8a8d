"""Exit codes of the commands and of batch jobs, which do without the command line's imports."""

EXIT_PASSED, EXIT_FAILED, EXIT_MISUSE, EXIT_NUMALAB, EXIT_INTERRUPTED = 0, 1, 2, 3, 130
EXIT_SKIPPED = 77  # CTest's "not run" for a criterion that is not gradable or undecided
