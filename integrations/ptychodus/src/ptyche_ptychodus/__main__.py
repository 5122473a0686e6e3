"""python -m ptyche_ptychodus: the command, where its script is not on PATH."""
import sys

from . import main

sys.exit(main())
