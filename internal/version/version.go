// Package version holds kubespark's own version, set when a program is linked. It goes into user agents, `--version` and
// the bridge's hand-shake.
package version

// Version is set by -ldflags "-X …/internal/version.Version=…".
var Version = "dev"
