//! Text columns: as wide as what is in them, two spaces apart.

use std::io::{self, Write};

/// Writes rows, the first of them the head, behind `indent` spaces.
pub(crate) fn write(out: &mut impl Write, indent: usize, rows: &[Vec<String>]) -> io::Result<()> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let wide = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(wide).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        writeln!(out, "{:indent$}{}", "", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_line_up_and_lines_have_no_tail() {
        let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
        let mut out = Vec::new();
        super::write(&mut out, 1, &[row(["a", "bb", "c"]), row(["ööö", "b", ""])]).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), " a    bb  c\n ööö  b\n");
    }
}
