# torchstores.py - stores of PyTorch that was built without libuv
#
# SPDX-License-Identifier: Apache-2.0
#
# PyTorch of Debian 13 was, and its stores ask for libuv where torchrun begins them,
# whatever USE_LIBUV is.
import functools
import sys
from torch.distributed import TCPStore


def without_libuv(name):
    if 'use_libuv' in (TCPStore.__init__.__doc__ or ''):
        sys.modules[name].TCPStore = functools.partial(TCPStore,
                                                       use_libuv=False)
