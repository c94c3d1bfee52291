# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml cannot say: the version is the merge's, and a wheel is for a platform and any Python 3."""

import glob
import subprocess

from setuptools import Distribution, setup
from wheel.bdist_wheel import bdist_wheel


class Binary(Distribution):
    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


version = subprocess.run(["trainprof/trainprof-merge", "--version"], stdout=subprocess.PIPE, check=True,
                         universal_newlines=True).stdout.split()[1].rstrip(",")
pages = [("share/man/man" + section, glob.glob("man/*." + section)) for section in "13457"]
setup(version=version, distclass=Binary, cmdclass={"bdist_wheel": Wheel},
      data_files=[(folder, files) for folder, files in pages if files])
