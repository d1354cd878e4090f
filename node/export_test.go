// SPDX-License-Identifier: Apache-2.0

package node

import "tagbus/netio/reactor"

// Loops returns all loops of a node, that of the callbacks first.
func Loops(n *Node) []*reactor.EventLoop { return n.loops }
