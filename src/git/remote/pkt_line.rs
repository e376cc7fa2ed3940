//! Reads and writes pkt-lines, the frames of Git's protocol: four hexadecimal digits of length, then the data.

use std::io::{self, Read};

#[derive(Debug, Eq, PartialEq)]
pub(super) enum Packet {
    /// `0001`, or another special frame of protocol v2.
    Delimiter,
    /// `0000`: the end of a section.
    Flush,
    /// A line, without its line break.
    Line(Vec<u8>),
}

/// Why a frame could not be read.
#[derive(Debug)]
pub(super) enum PacketError {
    /// An I/O error, or the end of the stream within a frame.
    Io(io::Error),
    /// Bytes that are not a frame.
    Malformed,
}

/// Reads one frame. Returns `None` at the end of the stream.
pub(super) fn read(from: &mut impl Read) -> Result<Option<Packet>, PacketError> {
    let mut length = [0; 4];
    match from.read(&mut length[..1]).map_err(PacketError::Io)? {
        0 => return Ok(None),
        _ => from.read_exact(&mut length[1..]).map_err(PacketError::Io)?,
    }
    let digits = std::str::from_utf8(&length).ok();
    // `from_str_radix` would accept a sign.
    let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    let length = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok());
    match length.ok_or(PacketError::Malformed)? {
        0 => Ok(Some(Packet::Flush)),
        1 | 2 => Ok(Some(Packet::Delimiter)),
        3 => Err(PacketError::Malformed),
        length => {
            let mut line = vec![0; length - 4];
            from.read_exact(&mut line).map_err(PacketError::Io)?;
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            Ok(Some(Packet::Line(line)))
        }
    }
}

pub(super) fn write_line(to: &mut String, line: &str) {
    to.push_str(&format!("{:04x}{line}\n", line.len() + 5));
}

/// Separates the capabilities of a request from its arguments.
pub(super) const DELIMITER: &str = "0001";

/// Ends a request.
pub(super) const FLUSH: &str = "0000";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_one_by_one() {
        let mut bytes = &b"0009a b\n\n0001000800ff0000"[..];
        assert_eq!(read(&mut bytes).unwrap(), Some(Packet::Line(b"a b\n".to_vec())));
        assert_eq!(read(&mut bytes).unwrap(), Some(Packet::Delimiter));
        assert_eq!(read(&mut bytes).unwrap(), Some(Packet::Line(b"00ff".to_vec())));
        assert_eq!(read(&mut bytes).unwrap(), Some(Packet::Flush));
        assert_eq!(read(&mut bytes).unwrap(), None);
    }

    #[test]
    fn other_bytes_are_an_error() {
        for (bytes, is_malformed) in [
            ("0003", true),
            ("+00f", true),
            ("<htm", true),
            ("00", false),
            ("0009ab", false),
        ] {
            let error = read(&mut bytes.as_bytes()).unwrap_err();
            assert_eq!(matches!(error, PacketError::Malformed), is_malformed, "{bytes}");
        }
    }

    #[test]
    fn a_written_line_can_be_read() {
        let mut text = String::new();
        write_line(&mut text, "command=ls-refs");
        let packet = read(&mut text.as_bytes()).unwrap();
        assert_eq!(packet, Some(Packet::Line(b"command=ls-refs".to_vec())));
    }
}
