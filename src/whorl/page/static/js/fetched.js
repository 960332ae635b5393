// Files that lie beside the page, as bytes.

let read = async (url, what) => {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${what} could not be loaded (${response.status}).`);
  return response.arrayBuffer();
};

export const fetched = (url, what) => read(url, what);

// Another way to read them, as in node, whose `fetch` takes no files.
export const readBy = (reader) => { read = reader; };
