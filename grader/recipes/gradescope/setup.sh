#!/bin/sh
# Gradescope runs this once, as root, when it builds the assignment's image.
set -eu
/autograder/source/numalab/numalab setup --yes
