/** COPY with the driver's own messages, in PostgreSQL's binary format. All rows are in memory. */

/** @returns the rows of a query as chunks for `copyFrom` */
export function copyTo(client, query) {
  const chunks = [];
  return run(client, `COPY (${query}) TO STDOUT (FORMAT binary)`, {
    handleCopyData: ({ chunk }) => chunks.push(Buffer.from(chunk)),
  }).then(() => chunks);
}

export async function copyFrom(client, table, chunks) {
  await run(client, `COPY ${table} FROM STDIN (FORMAT binary)`, {
    handleCopyInResponse(connection) {
      for (const chunk of chunks) connection.sendCopyFromChunk(chunk);
      connection.endCopyFrom();
    },
  });
}

/** Submits a query object whose handlers receive the driver's messages. */
function run(client, text, handlers) {
  return new Promise((resolve, reject) => {
    client.query({
      submit: (connection) => void connection.query(text),
      // The driver calls nothing else after an error.
      handleError: reject,
      handleCopyInResponse: () => {},
      handleCopyData: () => {},
      handleCommandComplete: () => {},
      handleReadyForQuery: () => resolve(),
      ...handlers,
    });
  });
}
