package proof

// EveryTime returns a rule that builds a new key each time, so that no two events have the same
// key. It is for deliveries that only say "something changed, go and look". Two such deliveries
// with the same content may be two events, or an event and its retry, and no id tells which.
// EveryTime treats them as two events: an extra event costs little, but a lost event means a lost
// change. All fields must be present, except those with IfAny.
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
