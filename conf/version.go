package conf

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a Spark version such as 4.2.0. Text after the third number (-SNAPSHOT, -preview1) is kept for printing.
type Version struct {
	Major, Minor, Patch int
	text                string
}

// DefaultVersion is the Spark version imitated when nothing says which.
var DefaultVersion = Version{4, 2, 0, "4.2.0"}

// ParseVersion reads a version of at least two numbers.
func ParseVersion(s string) (Version, error) {
	core, _, _ := strings.Cut(s, "-")
	parts := strings.Split(core, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return Version{}, fmt.Errorf("%q is not a Spark version such as 4.2.0", s)
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 {
			return Version{}, fmt.Errorf("%q is not a Spark version such as 4.2.0", s)
		}
		n[i] = v
	}
	return Version{n[0], n[1], n[2], s}, nil
}

// AtLeast says whether v is major.minor or later.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

func (v Version) String() string {
	if v.text != "" {
		return v.text
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}
