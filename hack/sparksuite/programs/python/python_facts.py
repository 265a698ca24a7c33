"""What a Python process is; a module for --py-files."""
import os
import sys


def version():
    return "%d.%d" % sys.version_info[:2]


def interpreter():
    """The interpreter that PYSPARK_PYTHON asks for, by its last name."""
    return os.path.basename(os.environ.get("PYSPARK_PYTHON", ""))
