// SPDX-License-Identifier: Apache-2.0

package commands

// Other programs hand over to one that has it for --bus etcd://, and this one has it itself.
import _ "tagbus/directory/etcd"
