package report

// WriteDocument writes the document, its plot and the raw data into a folder.
func WriteDocument(folder string, d Data) error { return nil }
