#!/bin/bash
# shellcheck source=tests/corpora/corpora.bash
. "${0%/*}/corpora.bash"

need_modules numpy scipy
check mtx_matrices
