// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package headroom

// The name is what the compiler says where this package cannot be.
var _ = this_needs_Linux__the_packages_tags_and_recording_and_the_command_tagbus_rec_do_not
