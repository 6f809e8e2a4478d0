#!/bin/bash
# shellcheck source=tests/kill/play.bash
. "${0%/*}/play.bash"

play p kill 1 3
