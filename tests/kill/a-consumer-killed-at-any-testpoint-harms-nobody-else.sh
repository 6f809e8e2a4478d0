#!/bin/bash
# shellcheck source=tests/kill/play.bash
. "${0%/*}/play.bash"

play a kill 1 3
