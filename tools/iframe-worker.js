// The documentation opened as files: a browser starts no Worker from a file, and the search is one. It runs in a hidden
// frame instead. (The name is that of the package which Material for MkDocs would fetch from the network for this.)
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.frame = frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source !== this.frame) return;
        const message = new MessageEvent("message", {data: event.data});
        this.dispatchEvent(message);
        this.onmessage?.(message);
      });
      const page = this.frame.document;
      page.open();
      page.write(`<body><script>
        postMessage = (data) => parent.postMessage(data, "*");
        importScripts = (...urls) => urls.reduce((done, url) => done.then(() => new Promise((loaded) => {
          const script = document.createElement("script");
          script.src = url;
          script.onload = loaded;
          document.body.appendChild(script);
        })), Promise.resolve());
      <\/script><script src="${url}"><\/script></body>`);
      page.close();
    }
    postMessage(data) {
      const send = () => this.frame.dispatchEvent(new MessageEvent("message", {data}));
      if (this.frame.document.readyState === "complete") send();
      else this.frame.addEventListener("load", send);
    }
    terminate() {
      this.frame.frameElement.remove();
    }
  };
}
