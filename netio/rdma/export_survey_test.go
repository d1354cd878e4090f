// SPDX-License-Identifier: Apache-2.0

package rdma

import "io/fs"

// SurveyOf is Fabrics with all that it asks the host for.
func SurveyOf(root fs.FS, version string, offers []Fabric, memlock uint64) Survey {
	s := Survey{Libfabric: version, Fabrics: merge(offers), MemlockBytes: memlock}
	s.survey(root)
	return s
}

// MayLockAll is what the survey asks.
var MayLockAll = mayLockAll
