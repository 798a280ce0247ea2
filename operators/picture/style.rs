//! The style of a page and its pictures: one accent colour, in a light and a dark scheme. Shapes that differ in colour
//! also differ in form.

/// The colours of one scheme. Text has a contrast of at least 4.5 to its ground (WCAG 2, AA).
pub(crate) struct Palette {
    pub(crate) ground: &'static str,
    pub(crate) ink: &'static str,
    muted: &'static str,
    pub(crate) rule: &'static str,
    edge: &'static str,
    accent: &'static str,
    /// The opacity of the accent in a band.
    band: &'static str,
}

#[cfg(test)]
impl Palette {
    /// The colours of text and lines, whose contrast a test checks.
    pub(crate) fn texts(&self) -> [&'static str; 3] {
        [self.ink, self.muted, self.accent]
    }
}

pub(crate) const LIGHT: Palette = Palette {
    ground: "#ffffff",
    ink: "#1b1f24",
    muted: "#57606a",
    rule: "#e3e7eb",
    edge: "#8b949e",
    accent: "#0a6c8f",
    band: "0.17",
};

pub(crate) const DARK: Palette = Palette {
    ground: "#12161b",
    ink: "#e6e9ed",
    muted: "#a2abb5",
    rule: "#272d35",
    edge: "#6b7580",
    accent: "#58b9dc",
    band: "0.24",
};

pub(crate) const FONTS: &str =
    "ui-sans-serif,system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif";

/// The rules of all pictures in one scheme, without variables, which some viewers of SVG do not know.
pub(crate) fn pictures(palette: &Palette) -> String {
    let Palette { ground, ink, muted, rule, edge, accent, band } = palette;
    format!(
        "text{{fill:{ink}}}.tick,.note,.exact{{fill:{muted}}}.number{{fill:{accent}}}\
         .grid{{stroke:{rule}}}.zero,.axis{{stroke:{edge}}}\
         .band{{fill:{accent};fill-opacity:{band}}}.bar{{fill:{accent};fill-opacity:{band}}}\
         .plain{{fill:{muted};fill-opacity:.28}}\
         .reach{{stroke:{accent}}}.edge,.value{{stroke:{accent}}}.dot{{fill:{accent};stroke:{ground}}}\
         .truth,.fitted{{stroke:{ink}}}.mark{{fill:{ground};stroke:{ink}}}.cap{{stroke:{ink}}}\
         .gone{{fill:{muted};fill-opacity:.1}}.card{{fill:{ground};stroke:{rule}}}\
         .outline{{fill:none;stroke:{muted}}}.small{{fill:{ink}}}"
    )
}

/// The rules that both schemes share.
pub(crate) const SHAPES: &str = ".chart text{font-size:11px;font-variant-numeric:tabular-nums}\
    .chart .name{font-size:13px;font-weight:600}.chart .label{font-size:12px}.chart .number,.chart .exact{font-size:12px}\
    .chart .title{font-size:20px;font-weight:600}.chart .sub{font-size:13px}\
    .end{text-anchor:end}.middle{text-anchor:middle}\
    .grid,.zero,.axis,.cap{stroke-width:1}.cap{stroke-dasharray:2 3}\
    .reach{stroke-width:1.4}.edge{stroke-width:2.4}\
    .value{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}\
    .truth{fill:none;stroke-width:1.3;stroke-dasharray:5 3.5}.fitted{fill:none;stroke-width:1.2}.mark{stroke-width:1.3}.dot{stroke-width:1}\
    .chart .tag{font-size:11px;font-weight:700;letter-spacing:.08em;fill:#1b1f24}\
    .chart .small{font-size:9.5px;font-weight:700;letter-spacing:.08em}.outline{stroke-width:1}\
    .badge{fill:#ffd43b;stroke:#1b1f24;stroke-width:1}";

/// The rules of a page around its pictures.
pub(crate) fn page_style() -> String {
    let variables = |palette: &Palette| {
        let Palette { ground, ink, muted, rule, accent, .. } = palette;
        format!("--ground:{ground};--ink:{ink};--muted:{muted};--rule:{rule};--accent:{accent}")
    };
    let (light, dark) = (variables(&LIGHT), variables(&DARK));
    let (light_pictures, dark_pictures) = (pictures(&LIGHT), pictures(&DARK));
    format!(
        ":root{{color-scheme:light dark;{light}}}{light_pictures}\
         @media screen and (prefers-color-scheme:dark){{:root{{{dark}}}{dark_pictures}}}{SHAPES}{PAGE}body{{font-family:{FONTS}}}"
    )
}

const PAGE: &str = "*{box-sizing:border-box}\
    body{margin:0;background:var(--ground);color:var(--ink);font-size:16px;line-height:1.55;overflow-wrap:anywhere}\
    main{max-width:1200px;margin:0 auto;padding:48px 28px 72px}\
    h1{font-size:34px;line-height:1.15;margin:0 0 18px;letter-spacing:-.015em;font-weight:650}\
    h2{font-size:21px;margin:0 0 4px;letter-spacing:-.005em;font-weight:650}\
    h3{font-size:14px;margin:0 0 8px;font-weight:600}\
    p{margin:0 0 10px;max-width:72ch}.kicker,.sub{color:var(--muted);font-size:14px}.kicker{margin:0 0 6px}\
    .promise{font-size:19px;line-height:1.45;max-width:none;margin:0 0 22px}\
    .demo{border:2px solid #1b1f24;background:#ffd43b;color:#1b1f24;padding:14px 18px;margin:0 0 24px;border-radius:6px}\
    .demo strong{display:block;font-size:20px;letter-spacing:.12em}\
    dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:14px 28px;margin:0}\
    dt{color:var(--muted);font-size:13px}dd{margin:0;font-size:15px}\
    section{margin-top:44px;padding-top:28px;border-top:1px solid var(--rule)}\
    .chart{display:block;width:100%;height:auto;overflow:visible}.legend{margin:10px 0 16px}.slim,.panels.slim{display:none}.after{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:0 44px;margin:22px 0 6px}.notes{columns:2;column-gap:44px;margin-top:16px}.notes p{break-inside:avoid}.notes p:only-child{column-span:all;max-width:none}\
    .panels{display:grid;gap:26px 30px;grid-template-columns:repeat(3,minmax(0,1fr));margin:6px 0 18px}\
    .panels.two{grid-template-columns:repeat(2,minmax(0,1fr))}.panels.one{grid-template-columns:minmax(0,1fr)}\
    .wide{margin:6px 0 18px}.beside{margin:0 0 14px}\
    .scroll{overflow-x:auto}table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;margin:10px 0}\
    th,td{text-align:left;padding:5px 18px 5px 0;border-bottom:1px solid var(--rule);vertical-align:top}\
    th{color:var(--muted);font-weight:500;white-space:nowrap}td.number{text-align:right;white-space:nowrap}\
    th.number{text-align:right}table{overflow-wrap:normal}td{max-width:46ch;overflow-wrap:break-word}\
    details{margin-top:16px}summary{cursor:pointer;color:var(--accent);font-size:14px}\
    ul{margin:0 0 12px;padding-left:20px;max-width:80ch}\
    footer{margin-top:44px;padding-top:18px;border-top:1px solid var(--rule);color:var(--muted);font-size:13px}\
    @media (max-width:860px){.panels{grid-template-columns:repeat(2,minmax(0,1fr))}.full,.panels.full{display:none}.slim{display:block}.panels.slim{display:grid}\
    .slim{max-width:560px}.after{grid-template-columns:minmax(0,1fr)}.notes{columns:1}}\
    @media (max-width:580px){main{padding:28px 18px 48px}.panels{grid-template-columns:minmax(0,1fr)}h1{font-size:27px}}\
    @media print{main{padding:0;max-width:none}.chart,.demo,tr{break-inside:avoid}section{break-before:auto}summary{display:none}}";
