/** COPY through the driver's own messages, in memory and in PostgreSQL's binary format. */

/** @returns the rows of a query in the form for `copyFrom` */
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

/** A query object of the driver, which receives each message. */
function run(client, text, handlers) {
  return new Promise((resolve, reject) => {
    let failure;
    client.query({
      submit: (connection) => void connection.query(text),
      handleError: (error) => (failure = error),
      handleCopyInResponse: () => {},
      handleCopyData: () => {},
      handleCommandComplete: () => {},
      handleReadyForQuery: () => (failure ? reject(failure) : resolve()),
      ...handlers,
    });
  });
}
