/** As much of the editor's `Uri` as the tests touch. */
export class Uri {
  constructor(
    readonly scheme: string,
    readonly path: string,
    readonly query: string,
  ) {}

  static parse(text: string): Uri {
    const [, scheme = "", path = "", query = ""] = /^(\w+):\/\/([^?]*)\??(.*)$/.exec(text) ?? [];
    return new Uri(scheme, path, query);
  }

  static from({ scheme, path, query }: Uri): Uri {
    return new Uri(scheme, path, query);
  }

  toString(): string {
    return `${this.scheme}://${this.path}${this.query === "" ? "" : `?${this.query}`}`;
  }
}
