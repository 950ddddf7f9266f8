//! Bodies of requests that the client has compressed.
//!
//! A body is expanded as it arrives, in pieces that are not larger than flate2's buffer. So the
//! bounds of plain bodies also hold here, and they end the request before a small body becomes
//! large. The compressed bytes have a bound as well, because they may expand to nothing: a body of
//! empty gzip members would keep the decoder busy without an end.

use super::problem;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Buf;
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use http_body::Frame;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The encodings that bodies of requests may have.
const SUPPORTED: &str = "gzip, deflate";

/// Data that cannot be compressed grows by at most this fraction, and by headers.
const OVERHEAD_DIVISOR: u64 = 256;
const HEADER_BYTES: u64 = 4 << 10;

/// A body has an encoding that the service does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body has an unsupported Content-Encoding; send it as it is, or with gzip or deflate")]
pub struct UnsupportedEncoding;

impl UnsupportedEncoding {
    /// A response with this body that lists the supported encodings.
    pub fn response(self, body: impl IntoResponse) -> Response {
        let supported = [(ACCEPT_ENCODING, HeaderValue::from_static(SUPPORTED))];
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, supported, body).into_response()
    }
}

impl IntoResponse for UnsupportedEncoding {
    fn into_response(self) -> Response {
        let problem = problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_encoding",
            "The encoding of the body is not supported",
            self,
        );
        self.response(problem)
    }
}

/// Expands the body of a request, which may have at most this number of bytes when expanded.
pub async fn expand(State(max_bytes): State<u64>, request: Request, next: Next) -> Response {
    match expanded(request, max_bytes) {
        Ok(request) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

/// The request with an expanded body, whose length is not known. The caller bounds the expanded
/// body to `max_bytes`. A compressed body fails if its own length cannot be that of such a body.
///
/// # Errors
/// The body has an encoding that the service does not support.
pub fn expanded(mut request: Request, max_bytes: u64) -> Result<Request, UnsupportedEncoding> {
    let Some(decoder) = decoder(request.headers())? else {
        return Ok(request);
    };
    request.headers_mut().remove(CONTENT_ENCODING);
    request.headers_mut().remove(CONTENT_LENGTH);
    Ok(request.map(|body| {
        Body::new(Expanding {
            body,
            decoder,
            input: Bytes::new(),
            left: max_bytes
                .saturating_add(max_bytes / OVERHEAD_DIVISOR)
                .saturating_add(HEADER_BYTES),
            has_ended: false,
        })
    }))
}

/// The decoder for the header `Content-Encoding`; `None` if the body is not compressed.
fn decoder(headers: &HeaderMap) -> Result<Option<Decoder>, UnsupportedEncoding> {
    let mut lines = headers.get_all(CONTENT_ENCODING).into_iter();
    let Some(line) = lines.next() else {
        return Ok(None);
    };
    let name = line.to_str().map_err(|_| UnsupportedEncoding)?.trim();
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    match lines.next() {
        Some(_) => Err(UnsupportedEncoding),
        None if is("identity") || is("") => Ok(None),
        None if is("gzip") || is("x-gzip") => Ok(Some(Decoder::Gzip(Box::new(
            MultiGzDecoder::new(Vec::new()),
        )))),
        None if is("deflate") => Ok(Some(Decoder::Deflate(ZlibDecoder::new(Vec::new())))),
        None => Err(UnsupportedEncoding),
    }
}

#[derive(Debug)]
enum Decoder {
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Deflate(ZlibDecoder<Vec<u8>>),
}

impl Decoder {
    /// Expands the beginning of the input. Returns how much of it, and the output so far.
    fn step(&mut self, input: &[u8]) -> io::Result<(usize, Vec<u8>)> {
        // One call fills the buffer of flate2 at most once.
        Ok(match self {
            Decoder::Gzip(decoder) => (decoder.write(input)?, std::mem::take(decoder.get_mut())),
            Decoder::Deflate(decoder) => (decoder.write(input)?, std::mem::take(decoder.get_mut())),
        })
    }

    /// Checks that the input is complete, and returns the rest of the output.
    fn finish(&mut self) -> io::Result<Vec<u8>> {
        Ok(match self {
            Decoder::Gzip(decoder) => {
                decoder.try_finish()?;
                std::mem::take(decoder.get_mut())
            }
            Decoder::Deflate(decoder) => {
                decoder.try_finish()?;
                std::mem::take(decoder.get_mut())
            }
        })
    }
}

struct Expanding {
    body: Body,
    decoder: Decoder,
    /// Input that has not been expanded yet.
    input: Bytes,
    /// The maximum number of bytes that may still arrive.
    left: u64,
    has_ended: bool,
}

impl Expanding {
    /// The next piece of the input that has arrived; `None` if more input is needed.
    fn piece(&mut self) -> io::Result<Option<Bytes>> {
        while !self.input.is_empty() {
            let (used, output) = self.decoder.step(&self.input)?;
            self.input.advance(used);
            if !output.is_empty() {
                return Ok(Some(output.into()));
            }
            if used == 0 {
                return Err(io::Error::new(io::ErrorKind::InvalidData, TrailingData));
            }
        }
        Ok(None)
    }
}

/// A compressed body continues after its end.
#[derive(Debug, thiserror::Error)]
#[error("data follows the end of the compressed body")]
struct TrailingData;

/// A compressed body has more bytes than an expanded one may have.
#[derive(Debug, thiserror::Error)]
#[error("the compressed body is larger than the largest body may be")]
struct CompressedTooLarge;

impl http_body::Body for Expanding {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            match self.piece() {
                Ok(Some(piece)) => return Poll::Ready(Some(Ok(Frame::data(piece)))),
                Ok(None) => {}
                Err(error) => return Poll::Ready(Some(Err(axum::Error::new(error)))),
            }
            if self.has_ended {
                return Poll::Ready(None);
            }
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => {
                    let input = frame.into_data().unwrap_or_default();
                    let Some(left) = self.left.checked_sub(input.len() as u64) else {
                        return Poll::Ready(Some(Err(axum::Error::new(CompressedTooLarge))));
                    };
                    self.left = left;
                    self.input = input;
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    self.has_ended = true;
                    return Poll::Ready(match self.decoder.finish() {
                        Ok(rest) if rest.is_empty() => None,
                        Ok(rest) => Some(Ok(Frame::data(rest.into()))),
                        Err(error) => Some(Err(axum::Error::new(error))),
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use http_body_util::BodyExt as _;

    const LARGE_BYTES: usize = 8 << 20;
    const MAX_BYTES: u64 = LARGE_BYTES as u64;
    /// The buffer of flate2.
    const PIECE_BYTES: usize = 32 << 10;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn request(encoding: &'static str, body: Vec<u8>) -> Result<Request, UnsupportedEncoding> {
        let mut request = Request::new(Body::from(body));
        let headers = request.headers_mut();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("1"));
        expanded(request, MAX_BYTES)
    }

    async fn content(encoding: &'static str, body: Vec<u8>) -> Result<Bytes, axum::Error> {
        let body = request(encoding, body).unwrap().into_body();
        Ok(body.collect().await?.to_bytes())
    }

    #[tokio::test]
    async fn supported_encodings_are_expanded() {
        let mut deflate = ZlibEncoder::new(Vec::new(), Compression::fast());
        deflate.write_all(b"text").unwrap();
        let deflate = deflate.finish().unwrap();
        assert_eq!(content("deflate", deflate).await.unwrap(), "text");
        assert_eq!(content("GZIP", gzip(b"text")).await.unwrap(), "text");
        assert_eq!(content("identity", b"text".to_vec()).await.unwrap(), "text");
        let members = [gzip(b"te"), gzip(b"xt")].concat();
        assert_eq!(content("x-gzip", members).await.unwrap(), "text");
        let headers = request("gzip", gzip(b"text"))
            .unwrap()
            .into_parts()
            .0
            .headers;
        assert!(headers.is_empty());
    }

    #[tokio::test]
    async fn large_bodies_arrive_in_small_pieces() {
        let small = gzip(&vec![0; LARGE_BYTES]);
        assert!(small.len() < LARGE_BYTES / 100);
        let mut body = request("gzip", small).unwrap().into_body();
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            let piece = frame.unwrap().into_data().unwrap();
            assert!(
                piece.len() <= 2 * PIECE_BYTES,
                "{} bytes at once",
                piece.len()
            );
            size += piece.len();
        }
        assert_eq!(size, LARGE_BYTES);
    }

    #[tokio::test]
    async fn compressed_bytes_are_bounded_although_they_expand_to_nothing() {
        let empty = gzip(b"");
        let members = |bytes: usize| empty.repeat(bytes / empty.len());
        assert_eq!(content("gzip", members(LARGE_BYTES)).await.unwrap(), "");
        let too_large = members(LARGE_BYTES + LARGE_BYTES / 128);
        let error = content("gzip", too_large).await.unwrap_err();
        let cause = error.into_inner().downcast::<axum::Error>().unwrap();
        assert!(cause.into_inner().is::<CompressedTooLarge>());
        // Data of the largest size that cannot be compressed is accepted.
        let mut state = 1_u64;
        let noise = (0..LARGE_BYTES).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u8
        });
        let noise: Vec<u8> = noise.collect();
        let found = content("gzip", gzip(&noise)).await.unwrap();
        assert_eq!(found.len(), LARGE_BYTES);
    }

    #[tokio::test]
    async fn damaged_bodies_and_other_encodings_are_rejected() {
        let mut cut = gzip(b"text");
        cut.truncate(cut.len() - 4);
        content("gzip", cut).await.unwrap_err();
        content("gzip", b"text".to_vec()).await.unwrap_err();
        content("gzip", [gzip(b"a"), b"b".to_vec()].concat())
            .await
            .unwrap_err();
        for encoding in ["br", "gzip, gzip", "compress"] {
            let error = request(encoding, Vec::new()).unwrap_err();
            let response = error.into_response();
            assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
            assert_eq!(response.headers()[ACCEPT_ENCODING], SUPPORTED);
        }
    }
}
