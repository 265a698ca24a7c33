package image

import (
	"fmt"
	"strings"
)

// The user of the official Spark images.
const (
	sparkUser = "spark"
	sparkUID  = 185
	sparkGID  = 0
)

// mergePasswd adds a user to a passwd text. An entry with the same name or the same id gives way.
func mergePasswd(passwd, name string, uid, gid int, home string) string {
	return mergeAccounts(passwd, name, uid, fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh", name, uid, gid, home))
}

// mergeGroup adds a group to a group text. An entry with the same name or the same id gives way.
func mergeGroup(group, name string, gid int) string {
	return mergeAccounts(group, name, gid, fmt.Sprintf("%s:x:%d:", name, gid))
}

func mergeAccounts(text, name string, id int, entry string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		f := strings.Split(line, ":")
		if line == "" || f[0] == name || len(f) > 2 && f[2] == fmt.Sprint(id) {
			continue
		}
		out = append(out, line)
	}
	return strings.Join(append(out, entry), "\n") + "\n"
}
