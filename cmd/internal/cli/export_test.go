// SPDX-License-Identifier: Apache-2.0

package cli

// MetricsTimeout bounds a request for metrics and its answer.
var MetricsTimeout = &metricsTimeout
