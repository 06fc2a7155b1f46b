#!/usr/bin/env python
"""Django's command line for this project."""

from flowmut_web.cli import main

if __name__ == "__main__":
    main()
