package cli

// cleanNode takes away what a killed node left.
func cleanNode(string) error { return nil }
