// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"tagbus/internal/validate"
)

var errInvalid = errors.New("x: invalid configuration")

func TestDefaultKeepsWhatIsSet(t *testing.T) {
	set, unset := 3, 0
	validate.Default(&set, 7)
	validate.Default(&unset, 7)
	if set != 3 || unset != 7 {
		t.Errorf("Default: got %d for 3 and %d for 0, want 3 and 7", set, unset)
	}
}

func TestViolations(t *testing.T) {
	embedded := errors.New("as it is")
	tests := []struct {
		name  string
		check func(v *validate.Violations)
		want  string
		is    error
	}{
		{"nothing is wrong", func(v *validate.Violations) {
			validate.Within(v, "Low", 1, 1, 3)
			validate.Within(v, "High", 3, 1, 3)
			v.Positive("Default", 0)
			v.Field("Field", nil)
			v.Join(nil)
		}, "", nil},
		{"too small", func(v *validate.Violations) { validate.Within(v, "N", 0, 1, 3) }, "x: invalid configuration: N is 0, want 1 to 3", errInvalid},
		{"too large", func(v *validate.Violations) { validate.Within(v, "N", 4, 1, 3) }, "x: invalid configuration: N is 4, want 1 to 3", errInvalid},
		{
			"a duration",
			func(v *validate.Violations) { validate.Within(v, "D", time.Microsecond, time.Millisecond, time.Hour) },
			"x: invalid configuration: D is 1µs, want 1ms to 1h0m0s", errInvalid,
		},
		{
			"a negative duration", func(v *validate.Violations) { v.Positive("D", -time.Second) },
			"x: invalid configuration: D is -1s, want a positive duration of at most 87600h0m0s", errInvalid,
		},
		{"text", func(v *validate.Violations) { v.Add("%d%% of what", 100) }, "x: invalid configuration: 100% of what", errInvalid},
		{"the error of a field", func(v *validate.Violations) { v.Field("F", io.EOF) }, "x: invalid configuration: F: EOF", io.EOF},
		{"an error that is added to the text", func(v *validate.Violations) { v.Add("no %w", io.EOF) }, "x: invalid configuration: no EOF", io.EOF},
		{"another error", func(v *validate.Violations) { v.Join(embedded) }, "as it is", embedded},
		{
			"everything at once",
			func(v *validate.Violations) {
				v.Join(embedded)
				validate.Within(v, "N", 0, 1, 3)
				v.Field("F", io.EOF)
			},
			"as it is\nx: invalid configuration: N is 0, want 1 to 3\nx: invalid configuration: F: EOF", errInvalid,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := validate.Violations{Kind: errInvalid}
			test.check(&v)
			err := v.Err()
			if test.want == "" {
				if err != nil {
					t.Errorf("Err: got %q, want none", err)
				}
				return
			}
			if err == nil || err.Error() != test.want {
				t.Errorf("Err: got %v, want %q", err, test.want)
			}
			if !errors.Is(err, test.is) {
				t.Errorf("Err: got %v, want one that is %v", err, test.is)
			}
		})
	}
}
