//! Arrow IPC files: the record batches of the file format, which lists them at its end, and of the stream
//! format.

use std::sync::Arc;
use std::vec;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, Message, MessageHeader, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;

use super::Damaged;
use super::file::PlacedFile;

/// The first bytes of a file in the file format; in it, messages begin at a multiple of eight.
const MAGIC: &[u8] = b"ARROW1";

/// The mark before the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The largest buffer of a packed column, unpacked. A decoder allocates the size that the file states.
const LARGEST: i64 = 1 << 30;

/// The most rows of a record batch. Where no column is wanted, nothing else says how many there are.
const MOST_ROWS: i64 = 1 << 30;

/// An Arrow file whose schema has been read.
pub(super) struct ArrowFile {
    file: Arc<PlacedFile>,
    schema: SchemaRef,
    version: MetadataVersion,
    blocks: Blocks,
}

/// The places of the messages of a file.
enum Blocks {
    /// The dictionaries and the record batches that the end of a file lists.
    Listed { dictionaries: Vec<Block>, batches: vec::IntoIter<Block> },
    /// The position of the next message of a stream.
    Following(u64),
}

impl ArrowFile {
    pub(super) fn open(file: Arc<PlacedFile>) -> Result<ArrowFile, Damaged> {
        if file.range(0, file.length().min(MAGIC.len() as u64))?.as_slice() == MAGIC {
            return ArrowFile::listed(file);
        }
        let (block, message) = message(&file, 0)?.ok_or(Damaged)?;
        let (schema, version) = {
            let message = read_message(&message)?;
            (try_schema(message.header_as_schema().ok_or(Damaged)?)?, message.version())
        };
        let next = end(&block)?;
        Ok(ArrowFile { file, schema, version, blocks: Blocks::Following(next) })
    }

    /// Opens a file in the file format.
    fn listed(file: Arc<PlacedFile>) -> Result<ArrowFile, Damaged> {
        let tail = file.length().checked_sub(10).ok_or(Damaged)?;
        let length = read_footer_length(file.range(tail, 10)?.as_slice().try_into()?)? as u64;
        let footer = file.range(tail.checked_sub(length).ok_or(Damaged)?, length)?;
        let footer = root_as_footer(&footer).map_err(|_| Damaged)?;
        let schema = try_schema(footer.schema().ok_or(Damaged)?)?;
        let dictionaries = footer.dictionaries().iter().flatten().copied().collect();
        let batches: Vec<Block> = footer.recordBatches().iter().flatten().copied().collect();
        let blocks = Blocks::Listed { dictionaries, batches: batches.into_iter() };
        Ok(ArrowFile { schema, version: footer.version(), blocks, file })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Reads the dictionaries that come before all batches, and returns the batches with these columns,
    /// ascending.
    pub(super) fn batches(self, columns: Vec<usize>) -> Result<ArrowBatches, Damaged> {
        let ArrowFile { file, schema, version, mut blocks } = self;
        let mut decoder = FileDecoder::new(schema, version).with_projection(columns);
        if let Blocks::Listed { dictionaries, .. } = &mut blocks {
            for block in dictionaries.drain(..) {
                decoder.read_dictionary(&block, &body(&file, &block)?)?;
            }
        }
        Ok(ArrowBatches { file, decoder, blocks })
    }
}

fn try_schema(schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef, Damaged> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err(Damaged);
    }
    Ok(Arc::new(try_fb_to_schema(schema)?))
}

/// The record batches of a file.
pub(super) struct ArrowBatches {
    file: Arc<PlacedFile>,
    decoder: FileDecoder,
    blocks: Blocks,
}

impl ArrowBatches {
    fn read(&mut self) -> Result<Option<RecordBatch>, Damaged> {
        loop {
            let block = match &mut self.blocks {
                Blocks::Listed { batches, .. } => match batches.next() {
                    Some(block) => block,
                    None => return Ok(None),
                },
                Blocks::Following(at) => {
                    let Some((block, head)) = message(&self.file, *at)? else { return Ok(None) };
                    *at = end(&block)?;
                    if read_message(&head)?.header_type() == MessageHeader::DictionaryBatch {
                        self.decoder.read_dictionary(&block, &body(&self.file, &block)?)?;
                        continue;
                    }
                    block
                }
            };
            return Ok(self.decoder.read_record_batch(&block, &body(&self.file, &block)?)?);
        }
    }
}

impl Iterator for ArrowBatches {
    type Item = Result<RecordBatch, Damaged>;

    fn next(&mut self) -> Option<Result<RecordBatch, Damaged>> {
        self.read().transpose()
    }
}

/// Reads the head of the message at a position of a stream; `None` at the mark that ends the stream. A stream
/// without that mark was cut.
fn message(file: &PlacedFile, at: u64) -> Result<Option<(Block, Buffer)>, Damaged> {
    let mark = file.range(at, 8)?;
    let (first, length) = mark.split_at_checked(4).ok_or(Damaged)?;
    let length = i32::from_le_bytes(length.try_into()?);
    if first != CONTINUATION {
        return Err(Damaged);
    }
    if length == 0 {
        return Ok(None);
    }
    let whole = length.checked_add(8).ok_or(Damaged)?;
    let head = file.range(at, u64::try_from(whole)?)?;
    let block = Block::new(i64::try_from(at)?, whole, read_message(&head)?.bodyLength());
    Ok(Some((block, head)))
}

/// Parses the head of a message.
fn read_message(head: &[u8]) -> Result<Message<'_>, Damaged> {
    let (mark, message) = head.split_at_checked(8).ok_or(Damaged)?;
    if !mark.starts_with(&CONTINUATION) {
        return Err(Damaged);
    }
    root_as_message(message).map_err(|_| Damaged)
}

/// The position behind a message.
fn end(block: &Block) -> Result<u64, Damaged> {
    let end = block.offset().checked_add(block.metaDataLength().into());
    Ok(u64::try_from(end.and_then(|end| end.checked_add(block.bodyLength())).ok_or(Damaged)?)?)
}

/// Reads a message with its body, which is then safe to unpack.
fn body(file: &PlacedFile, block: &Block) -> Result<Buffer, Damaged> {
    let (at, head) = (u64::try_from(block.offset())?, usize::try_from(block.metaDataLength())?);
    let length = u64::try_from(block.bodyLength())?.checked_add(head as u64).ok_or(Damaged)?;
    let whole = file.range(at, length)?;
    let (head, body) = whole.split_at_checked(head).ok_or(Damaged)?;
    let message = read_message(head)?;
    let batch = match message.header_type() {
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|batch| batch.data()),
        _ => message.header_as_record_batch(),
    };
    let batch = batch.ok_or(Damaged)?;
    if !(0..=MOST_ROWS).contains(&batch.length()) {
        return Err(Damaged);
    }
    if batch.compression().is_some() {
        for buffer in batch.buffers().iter().flatten() {
            let from = usize::try_from(buffer.offset())?;
            // An empty buffer has no size.
            let size = body.get(from..).and_then(<[u8]>::first_chunk).filter(|_| buffer.length() > 0);
            if size.is_some_and(|size| i64::from_le_bytes(*size) > LARGEST) {
                return Err(Damaged);
            }
        }
    }
    Ok(whole)
}
