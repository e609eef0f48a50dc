package proof

// EveryTime makes a key that no event had before. It is for deliveries that
// only say "something changed, go and look": two with the same content are two
// events, and no id distinguishes them from one that is sent again. One look too many
// costs nothing, one too few loses a change. All of the fields must be there,
// those with IfAny apart.
func EveryTime(fields ...Field) KeyRule {
	return func(d *Document) (string, error) {
		parts := make([]string, 0, len(fields)+1)
		for _, f := range fields {
			part, err := f.part(d)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return Join(append(parts, FreshID(""))...), nil
	}
}
