// SPDX-License-Identifier: Apache-2.0

package node

import (
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// TCP returns the configuration of the backends tcp and tls of a node.
func TCP(c Config) tcp.Config { return c.tcp() }

// Loops returns all loops of a node, that of the callbacks first.
func Loops(n *Node) []*reactor.EventLoop { return n.loops }
