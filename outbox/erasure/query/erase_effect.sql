SELECT hooklatch.erase_effect(:scope, :key, :generation, :note)
