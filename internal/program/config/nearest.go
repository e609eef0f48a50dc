package config

import "strings"

// nearest returns the word that was probably meant: the closest word, if at most a third of its
// letters, or one letter, must change.
func nearest(given string, words []string) (string, bool) {
	best, bestDistance := "", len(given)+1
	for _, word := range words {
		if d := editDistance(strings.ToLower(given), word); d < bestDistance {
			best, bestDistance = word, d
		}
	}
	return best, best != "" && bestDistance <= max(1, len(best)/3)
}

// editDistance returns the number of letters to insert, delete, replace or swap with their
// neighbour (optimal string alignment).
func editDistance(a, b string) int {
	const longest = 64 // names are shorter; a longer text is not a misspelled name
	if len(a) > longest || len(b) > longest {
		return longest
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
