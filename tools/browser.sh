#!/usr/bin/env bash
# The browser tests drive Chromium: installs it where that is one command (Debian, as root), else says how.
# Not having one is an error only in continuous integration (CI=true).
set -euo pipefail
cd "$(dirname "$0")/.."

found() {
    for name in chromium chromium-browser google-chrome; do
        if command -v "$name" >/dev/null; then return 0; fi
    done
    .venv/bin/python - <<'PYTHON'
import os, sys
from playwright.sync_api import sync_playwright
with sync_playwright() as p:
    sys.exit(not os.path.exists(p.chromium.executable_path))
PYTHON
}

if found; then exit 0; fi
if [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] && command -v apt-get >/dev/null; then
    echo "== installing Chromium for the browser tests"
    export DEBIAN_FRONTEND=noninteractive
    if apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null && found; then
        exit 0
    fi
fi
echo "No browser for the browser tests. Install Chromium (Debian: apt-get install chromium)," \
     "or run: .venv/bin/python -m playwright install chromium"
[ "${CI:-}" != true ]
