"""A toolchain."""

import toolchain

toolchain.find()
