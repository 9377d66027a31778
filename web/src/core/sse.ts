// Reads server-sent events from text that arrives in pieces.

export interface Message {
  id: string;
  event: string;
  data: string;
}

export class SseParser {
  private rest = '';
  private message: Message = { id: '', event: '', data: '' };
  /** The last id seen, also of comments' blocks without data: the position to continue from. */
  lastId = '';

  /** The messages that end in this piece. Blocks without data only move lastId. */
  push(piece: string): Message[] {
    const messages: Message[] = [];
    const text = this.rest + piece;
    let from = 0;
    for (;;) {
      const end = text.indexOf('\n', from);
      if (end < 0) break;
      const line = text.slice(from, text[end - 1] === '\r' && end > from ? end - 1 : end);
      from = end + 1;
      if (line === '') this.finish(messages);
      else this.field(line);
    }
    this.rest = text.slice(from);
    return messages;
  }

  private field(line: string): void {
    const colon = line.indexOf(':');
    if (colon === 0) return; // a comment
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'id') this.message.id = value;
    else if (name === 'event') this.message.event = value;
    else if (name === 'data') this.message.data += this.message.data === '' ? value : `\n${value}`;
  }

  private finish(messages: Message[]): void {
    if (this.message.id !== '') this.lastId = this.message.id;
    if (this.message.data !== '') messages.push(this.message);
    this.message = { id: '', event: '', data: '' };
  }
}
