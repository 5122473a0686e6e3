# Sourced with a script of this folder and its arguments: runs it by Debian's Python, for which NumPy,
# SciPy and h5py come with tools/packages.txt.
python=/usr/bin/python3
[ -x "$python" ] || python=python3
exec "$python" "$(dirname "$0")/$@"
