"""Operations on text: positions and units, differences, three-way merge."""
