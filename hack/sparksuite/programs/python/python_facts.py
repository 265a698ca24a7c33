"""What a Python process is; a module for --py-files."""
import os
import sys


def version():
    return "%d.%d" % sys.version_info[:2]


def interpreter():
    """The interpreter that the image or the application asks for; neither says one, as in Spark's own image."""
    return os.environ.get("PYSPARK_PYTHON", "python3")
