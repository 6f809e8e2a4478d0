#!/bin/bash
# shellcheck source=tests/kill/play.bash
. "${0%/*}/play.bash"

play a stop 1 3
