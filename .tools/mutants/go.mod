module github.com/hooklatch/hooklatch/.tools/mutants

go 1.26.0
